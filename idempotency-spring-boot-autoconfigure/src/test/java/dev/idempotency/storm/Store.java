package dev.idempotency.storm;

import dev.idempotency.test.Servers;
import dev.idempotency.test.TestApp;

/**
 * The stores.
 */
enum Store {

	/**
	 * PostgreSQL.
	 */
	JDBC {

		@Override
		TestApp configure(TestApp app) {
			return app.with("idempotency.store.type", "jdbc");
		}

	},

	/**
	 * Redis.
	 */
	REDIS {

		@Override
		TestApp configure(TestApp app) {
			return app.redis(Servers.redis());
		}

	};

	abstract TestApp configure(TestApp app);

}
