package dev.idempotency.dynamodb;

import java.util.Map;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * An update and its condition. Each name of an attribute begins with a number sign,
 * because some of them are reserved words.
 *
 * @param update the update expression, empty for a deletion
 * @param condition the condition expression
 * @param names the names of the attributes, by their placeholders
 */
record Expression(String update, String condition, Map<String, String> names) {

	private static final Pattern NAME = Pattern.compile("#(\\w+)");

	static Expression of(String update, String condition) {
		return new Expression(update, condition, names(update + " " + condition));
	}

	static Map<String, String> names(String expression) {
		return NAME.matcher(expression)
			.results()
			.collect(Collectors.toMap(MatchResult::group, (name) -> name.group(1), (one, same) -> one, TreeMap::new));
	}

}
