package dev.idempotency.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * What keeps the servers from protecting records.
 *
 * @param refused names of commands that the store needs and a server refuses
 * @param prefix the beginning of the names of all keys
 * @param rule the rule that allows what the store needs
 * @param policies the memory policies
 */
record Findings(List<String> refused, String prefix, String rule, EvictionPolicies policies) {

	static final Findings NONE = new Findings(List.of(), "", "", EvictionPolicies.NONE);

	Optional<IdempotencyConfigurationException> refusal() {
		return this.refused.isEmpty() ? Optional.empty()
				: Optional.of(new IdempotencyConfigurationException(
						"Redis refuses " + String.join(", ", this.refused) + " on keys that begin with '" + this.prefix
								+ "' to the user of the idempotency store.",
						"Allow it with 'ACL SETUSER <user> " + this.rule + "'."));
	}

	Optional<IdempotencyConfigurationException> eviction() {
		Map<String, String> evicting = this.policies.evicting();
		if (!evicting.isEmpty()) {
			String nodes = evicting.containsKey("") ? "" : " (" + String.join(", ", evicting.keySet()) + ")";
			return Optional.of(new IdempotencyConfigurationException(
					"Redis" + nodes + " has the memory policy '" + String.join("', '", new TreeSet<>(evicting.values()))
							+ "', so it evicts idempotency records before their retention ends when its memory is "
							+ "full, and their operations run again.",
					"Set 'maxmemory-policy' to 'noeviction'."));
		}
		return this.policies.hidden()
				? Optional.of(new IdempotencyConfigurationException(
						"Redis refuses INFO to the user of the idempotency store, so nobody knows whether it evicts "
								+ "idempotency records when its memory is full.",
						"Allow it with 'ACL SETUSER <user> +info'."))
				: Optional.empty();
	}

	/**
	 * All findings in words.
	 * @return the words, empty if there is none
	 */
	Optional<String> describe() {
		List<String> sentences = new ArrayList<>();
		refusal().ifPresent((finding) -> sentences.add(finding.getMessage() + " " + finding.action()));
		eviction().ifPresent((finding) -> sentences.add(finding.getMessage() + " " + finding.action()));
		return sentences.isEmpty() ? Optional.empty() : Optional.of(String.join(" ", sentences));
	}

}
