"""Figures 14 to 16 and table I of Suriarachchi, Withana and Plale (2018), with our reducers."""
