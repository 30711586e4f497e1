"""The embedded engine: columns of codes and generic kernels."""
