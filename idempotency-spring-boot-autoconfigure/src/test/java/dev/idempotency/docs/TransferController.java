package dev.idempotency.docs;

import java.security.Principal;
import java.time.Duration;
import java.util.Objects;

import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyKeyMissingException;
import dev.idempotency.Mode;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.IdempotentResult;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.Serialization;

@RestController
class TransferController {

	private static final Duration LEASE = Duration.ofSeconds(30);

	private static final Duration RETENTION = Duration.ofDays(1);

	private final IdempotencyTemplate template;

	private final Serialization serialization;

	private final ResultCodec<Object> codec;

	private final JdbcTemplate jdbc;

	TransferController(IdempotencyTemplate template, Serialization serialization, JdbcTemplate jdbc) {
		this.template = template;
		this.serialization = serialization;
		this.codec = serialization.codec(Receipt.class);
		this.jdbc = jdbc;
	}

	@PostMapping("/transfers")
	ResponseEntity<Receipt> transfer(@RequestHeader(name = "Idempotency-Key", required = false) @Nullable String header,
			@RequestBody Transfer transfer, Principal client) {
		IdempotentOperation operation = new IdempotentOperation(key(header, client), "TransferController.transfer",
				"POST /transfers", Mode.TRANSACTIONAL, fingerprint(transfer), LEASE, RETENTION);
		IdempotentResult<Object> result = this.template.execute(operation, this.codec, () -> book(transfer));
		return ResponseEntity.status(HttpStatus.CREATED)
			.header("Idempotent-Replayed", String.valueOf(result.duplicate()))
			.body((Receipt) result.result());
	}

	// The key of one client must not replay the response of another.
	private static IdempotencyKey key(@Nullable String header, Principal client) {
		String key = (header != null) ? header.replaceAll("^\"(.*)\"$", "$1") : null;
		String problem = IdempotencyKey.problem(key);
		if (problem != null) {
			throw new IdempotencyKeyMissingException("The header 'Idempotency-Key' " + problem + ".", null);
		}
		return IdempotencyKey.of("transfers/" + client.getName(), Objects.requireNonNull(key));
	}

	private byte[] fingerprint(Transfer transfer) {
		return Fingerprint.of(this.serialization.canonicalVersion(), this.serialization.canonical(transfer));
	}

	private Receipt book(Transfer transfer) {
		int changed = this.jdbc.update("UPDATE account SET balance = balance - ? WHERE id = ? AND balance >= ?",
				transfer.amount(), transfer.from(), transfer.amount());
		if (changed == 0) {
			throw new OperationDeclinedException("balance too low");
		}
		this.jdbc.update("UPDATE account SET balance = balance + ? WHERE id = ?", transfer.amount(), transfer.to());
		Long number = this.jdbc.queryForObject("SELECT nextval('receipt_number')", Long.class);
		return new Receipt(Objects.requireNonNull(number), transfer.amount());
	}

	record Transfer(String from, String to, int amount) {
	}

	record Receipt(long number, int amount) {
	}

}
