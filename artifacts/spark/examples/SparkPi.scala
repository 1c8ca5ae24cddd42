package org.apache.spark.examples

import scala.math.random

import org.apache.spark.sql.SparkSession

/** Estimates pi from random points: `run-example SparkPi [tasks]`. */
object SparkPi {
  def main(args: Array[String]): Unit = {
    val spark = SparkSession.builder().appName("Spark Pi").getOrCreate()
    val tasks = args.headOption.map(_.toInt).getOrElse(2)
    val points = 100000L * tasks
    val inside = spark.sparkContext
      .range(0, points, numSlices = tasks)
      .filter { _ =>
        val (x, y) = (random() * 2 - 1, random() * 2 - 1)
        x * x + y * y <= 1
      }
      .count()
    println(s"Pi is roughly ${4.0 * inside / points}")
    spark.stop()
  }
}
