package dev.idempotency.jdbc;

/**
 * A column that the statements of the library use.
 *
 * @param name its name
 * @param type its type
 * @param value who gives a new row its value
 * @param version the version of the migration that creates it
 */
record RequiredColumn(String name, Type type, Value value, int version) {

	static RequiredColumn inserted(String name, Type type, int version) {
		return new RequiredColumn(name, type, Value.INSERTED, version);
	}

	static RequiredColumn optional(String name, Type type, int version) {
		return new RequiredColumn(name, type, Value.OPTIONAL, version);
	}

	static RequiredColumn generated(String name, Type type, int version) {
		return new RequiredColumn(name, type, Value.GENERATED, version);
	}

	/**
	 * Who gives a column its value.
	 */
	enum Value {

		/**
		 * Each of our inserts.
		 */
		INSERTED,

		/**
		 * Some of our statements, so that the column is null at times.
		 */
		OPTIONAL,

		/**
		 * The database, by a default or an identity: no insert names the column.
		 */
		GENERATED

	}

	/**
	 * A type, by its names in PostgreSQL and in H2.
	 */
	enum Type {

		UUID("uuid", "UUID"),

		TEXT("text", "CHARACTER VARYING"),

		LETTER("\"char\"", "CHARACTER"),

		SHORT("smallint", "SMALLINT"),

		INTEGER("integer", "INTEGER"),

		LONG("bigint", "BIGINT"),

		BYTES("bytea", "BINARY VARYING"),

		BOOLEAN("boolean", "BOOLEAN"),

		TIME("timestamp with time zone", "TIMESTAMP WITH TIME ZONE");

		private final String postgres;

		private final String h2;

		Type(String postgres, String h2) {
			this.postgres = postgres;
			this.h2 = h2;
		}

		boolean isNamed(String name) {
			return name.equals(this.postgres) || name.equalsIgnoreCase(this.h2);
		}

		@Override
		public String toString() {
			return this.postgres;
		}

	}

}
