package dev.idempotency.listener

import java.util.function.BiFunction

import dev.idempotency.Idempotent
import kotlinx.coroutines.delay
import org.springframework.kafka.annotation.KafkaListener
import org.springframework.messaging.handler.annotation.SendTo

/**
 * The suspending listener of `ListenerMatrixTests`.
 */
open class MatrixSuspendListener(private val runs: BiFunction<String, String, String>) {

	@Idempotent
	@SendTo("\${prefix}-suspend-out")
	@KafkaListener(topics = ["\${prefix}-suspend"], groupId = "\${prefix}-suspend")
	open suspend fun suspended(value: String): String {
		delay(10)
		return runs.apply("suspend", value)
	}

}
