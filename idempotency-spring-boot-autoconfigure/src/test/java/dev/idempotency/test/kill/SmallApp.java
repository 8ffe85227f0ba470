package dev.idempotency.test.kill;

import java.io.IOException;
import java.util.List;

/**
 * A program without Spring that starts at once. With the argument {@code parent} it
 * starts another one and prints its process identifier.
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
		System.out.println(STARTED);
		System.in.transferTo(System.out);
	}

}
