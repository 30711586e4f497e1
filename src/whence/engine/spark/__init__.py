"""The engine on Spark: a program cut into groups, each run by one Spark job."""
