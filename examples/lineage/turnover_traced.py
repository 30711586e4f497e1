"""Turnover by city, the same job with two lines of capture."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from whence.lineage import trace

spark = SparkSession.builder.master("local[2]").getOrCreate()
spark = trace(spark, workflow="shop", job="turnover", log="log")

orders = spark.read.csv("orders.csv", schema="number int, customer string, city string")
items = spark.read.csv("items.csv", schema="number int, article string, count int, price int")
sold = orders.join(items.filter("count * price >= 8"), "number")
turnover = sold.groupBy("city").agg(F.sum(F.col("count") * F.col("price")).alias("turnover"))
turnover.write.mode("overwrite").parquet("turnover")
