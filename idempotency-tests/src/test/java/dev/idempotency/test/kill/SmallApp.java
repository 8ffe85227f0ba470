/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * A program without Spring that starts at once. With the argument {@code parent} it
 * starts another one and prints its process identifier. With the argument {@code work}
 * and a folder it does {@link NaiveWork}.
 */
public final class SmallApp {

	static final String STARTED = "STARTED";

	static final String FAIL = "fail";

	static final String PARENT = "parent";

	private SmallApp() {
	}

	public static void main(String[] args) throws IOException {
		if (List.of(args).contains(FAIL)) {
			System.out.println("The database is missing");
			System.exit(3);
		}
		if (List.of(args).contains(PARENT)) {
			System.out.println(ChildApplication.main(SmallApp.class).start().pid());
		}
		if (args.length == 2 && args[0].equals(NaiveWork.WORK)) {
			NaiveWork.start(Path.of(args[1]));
		}
		System.out.println(STARTED);
		System.in.transferTo(System.out);
	}

}
