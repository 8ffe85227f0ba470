/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Pattern;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.ScanRequest;
import software.amazon.awssdk.services.dynamodb.model.ScanResponse;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.store.Deadline;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;

/**
 * Scans the table. A scan ends when all records have been scanned, when the visitor has
 * enough, after {@value IdempotencyRecords#WINDOW} records, or when half of the timeout
 * has passed. DynamoDB charges it for every record with its result.
 *
 * @param calls the requests to the table
 */
record RecordScan(DynamoDbCalls calls) {

	private static final Log logger = LogFactory.getLog(RecordScan.class);

	private static final int STEP = 1000;

	private static final Pattern POSITION = Pattern.compile("[0-9a-f]{32}");

	@Nullable String scan(@Nullable String after, Predicate<IdempotencyRecord> visitor) {
		Assert.isTrue(after == null || POSITION.matcher(after).matches(), () -> "'after' is '" + after
				+ "', which is not the end of a page. Use 'next' of the previous answer, or begin without 'after'");
		ScanRequest.Builder step = ScanRequest.builder()
			.tableName(this.calls.table())
			.consistentRead(true)
			.limit(STEP)
			.projectionExpression(RecordItem.LISTED)
			.expressionAttributeNames(RecordUpdates.names(RecordItem.LISTED));
		Deadline deadline = this.calls.deadline();
		Deadline end = deadline.middle();
		int examined = 0;
		String position = after;
		while (true) {
			if (position != null) {
				step.exclusiveStartKey(Map.of(RecordItem.ID, AttributeValue.fromS(position)));
			}
			ScanResponse response = this.calls.scan(step.build(), deadline);
			for (int i = 0; i < response.items().size(); i++) {
				RecordItem item = new RecordItem(response.items().get(i));
				boolean last = i + 1 == response.items().size() && !response.hasLastEvaluatedKey();
				if (!visit(item, visitor) && !last) {
					return item.id();
				}
			}
			if (!response.hasLastEvaluatedKey()) {
				return null;
			}
			position = new RecordItem(response.lastEvaluatedKey()).id();
			examined += response.items().size();
			if (examined >= IdempotencyRecords.WINDOW || end.isOver()) {
				return position;
			}
		}
	}

	private static boolean visit(RecordItem item, Predicate<IdempotencyRecord> visitor) {
		try {
			return visitor.test(item.toRecord());
		}
		catch (IdempotencyRecordUnreadableException ex) {
			logger.debug("An unreadable record was left out", ex);
			return true;
		}
	}

}
