package millrace.flights

import org.apache.spark.sql.{DataFrame, Encoders}
import org.apache.spark.sql.streaming.{ListState, OutputMode, StatefulProcessor, TTLConfig}
import org.apache.spark.sql.streaming.{TimeMode, TimerValues}

case class Departure(
    carrier: String, dep_delay: Long, event_time: String, origin: String, flight: Long)

case class Ranked(
    carrier: String, rank: Int, dep_delay: Long, event_time: String, origin: String, flight: Long)

/** The departures of a carrier with the greatest delays; of equal ones the earliest. A departure
  * counts once, however often it comes. Each batch emits the ranks that it has changed.
  */
class TopDelays(size: Int) extends StatefulProcessor[String, Departure, Ranked] {
  @transient private var best: ListState[Departure] = _

  override def init(mode: OutputMode, time: TimeMode): Unit =
    best = getHandle.getListState[Departure]("best", Encoders.product[Departure], TTLConfig.NONE)

  override def handleInputRows(
      carrier: String, rows: Iterator[Departure], timers: TimerValues): Iterator[Ranked] = {
    val before = best.get().toVector
    // In groups, so that a carrier's batch need not fit into memory.
    val after = rows.grouped(1000).foldLeft(before) { (found, more) =>
      (found ++ more).distinct
        .sortBy(one => (-one.dep_delay, one.event_time, one.origin, one.flight))
        .take(size)
    }
    if (after != before) best.put(after.toArray)
    after.iterator.zipWithIndex
      .filter { case (one, place) => !before.lift(place).contains(one) }
      .map { case (one, place) =>
        Ranked(carrier, place + 1, one.dep_delay, one.event_time, one.origin, one.flight)
      }
  }
}

object TopDelays {

  /** What PySpark calls: `departures` has the columns of [[Departure]]. */
  def of(departures: DataFrame, size: Int): DataFrame = {
    val rows = departures.as(Encoders.product[Departure])
    rows
      .groupByKey((one: Departure) => one.carrier)(Encoders.STRING)
      .transformWithState(new TopDelays(size), TimeMode.None(), OutputMode.Update())(
        Encoders.product[Ranked])
      .toDF()
  }
}
