package dev.idempotency.jdbc;

import org.jspecify.annotations.Nullable;

import dev.idempotency.jdbc.RequiredColumn.Value;

/**
 * A column as it is in the database.
 *
 * @param name its name, in lower case
 * @param type its type, in the words of the database
 * @param notNull whether it has a value in each row
 * @param generated whether the database gives it a value if an insert does not
 */
record FoundColumn(String name, String type, boolean notNull, boolean generated) {

	/**
	 * Compare it with what the statements need.
	 * @param required the column as the migrations create it, {@code null} if they do not
	 * @return why a statement would fail, {@code null} if none would
	 */
	@Nullable String problem(@Nullable RequiredColumn required) {
		if (required == null) {
			return (this.notNull && !this.generated)
					? "its additional column '" + this.name + "' is NOT NULL and has no default" : null;
		}
		if (!required.type().isNamed(this.type)) {
			return "its column '" + this.name + "' is of the type " + this.type + " instead of " + required.type();
		}
		if (required.value() == Value.OPTIONAL && this.notNull) {
			return "its column '" + this.name + "' must not be NOT NULL";
		}
		return (required.value() == Value.GENERATED && !this.generated)
				? "its column '" + this.name + "' has no default" : null;
	}

}
