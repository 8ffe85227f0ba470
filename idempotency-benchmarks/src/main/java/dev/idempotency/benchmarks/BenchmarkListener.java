package dev.idempotency.benchmarks;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.core.annotation.AliasFor;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.TopicPartition;

/**
 * A listener that is started by hand, and whose partitions are assigned: a rebalance
 * would be measured too.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@KafkaListener(autoStartup = "false",
		topicPartitions = @TopicPartition(topic = "${benchmark.topic}", partitions = "${benchmark.partitions}"))
@interface BenchmarkListener {

	/**
	 * The listener of the least work.
	 */
	String LIMIT = "limit";

	/**
	 * The protected listener.
	 */
	String PROTECTED = "protected";

	/**
	 * The name of the container.
	 * @return the name
	 */
	@AliasFor(annotation = KafkaListener.class, attribute = "id")
	String value();

	/**
	 * Whether it gets batches.
	 * @return {@code "true"} if it does
	 */
	@AliasFor(annotation = KafkaListener.class, attribute = "batch")
	String batch() default "";

}
