package dev.idempotency.autoconfigure;

import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.ResourceTransactionManager;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ReflectionUtils;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * Finds the transaction manager of a {@link DataSource}. By type there may be several, or
 * only that of Kafka.
 */
final class JdbcTransactionManagers {

	private static final Log logger = LogFactory.getLog(JdbcTransactionManagers.class);

	private JdbcTransactionManagers() {
	}

	static @Nullable PlatformTransactionManager find(ListableBeanFactory beanFactory, DataSource dataSource,
			@Nullable String name) {
		if (name != null) {
			return named(beanFactory, dataSource, name);
		}
		Map<String, PlatformTransactionManager> all = beanFactory.getBeansOfType(PlatformTransactionManager.class,
				false, true);
		Map<String, PlatformTransactionManager> matching = new LinkedHashMap<>(all);
		matching.values().removeIf((manager) -> target(dataSource(manager)) != target(dataSource));
		if (matching.size() > 1) {
			throw new IdempotencyConfigurationException(
					"Several transaction managers manage the DataSource of the idempotency store: " + matching.keySet()
							+ ".",
					"Name one with 'idempotency.jdbc.transaction-manager'.");
		}
		if (matching.isEmpty()) {
			logger.warn("No transaction manager manages the DataSource of the idempotency store"
					+ (all.isEmpty() ? "" : ", only something else: " + all.keySet())
					+ ". With 'spring.kafka.producer.transaction-id-prefix' Boot creates no JDBC transaction manager at "
					+ "all and @Transactional silently means Kafka. Listeners in mode AUTO take leased mode; define a "
					+ "JdbcTransactionManager bean for transactional mode");
			return null;
		}
		Map.Entry<String, PlatformTransactionManager> found = matching.entrySet().iterator().next();
		if (!bindsConnection(found.getValue())) {
			logger.warn("The transaction manager '" + found.getKey() + "' binds no JDBC connection of the idempotency "
					+ "store's DataSource, so listeners in mode AUTO take leased mode; use a JPA dialect that exposes its "
					+ "connection, or define a JdbcTransactionManager bean for transactional mode");
			return null;
		}
		return found.getValue();
	}

	private static PlatformTransactionManager named(ListableBeanFactory beanFactory, DataSource dataSource,
			String name) {
		PlatformTransactionManager manager = beanFactory.getBean(name, PlatformTransactionManager.class);
		if (target(dataSource(manager)) != target(dataSource) || !bindsConnection(manager)) {
			throw new IdempotencyConfigurationException(
					"The transaction manager '" + name + "' does not manage the DataSource of the idempotency store.",
					"Name another with 'idempotency.jdbc.transaction-manager', or the DataSource with "
							+ "'idempotency.jdbc.data-source'.");
		}
		return manager;
	}

	// A record on any other connection would commit by itself, before the handler's
	// writes.
	private static boolean bindsConnection(PlatformTransactionManager manager) {
		DataSource dataSource = dataSource(manager);
		TransactionStatus probe = manager
			.getTransaction(new DefaultTransactionDefinition(TransactionDefinition.PROPAGATION_REQUIRES_NEW));
		try {
			return dataSource != null && TransactionSynchronizationManager.hasResource(dataSource);
		}
		finally {
			manager.rollback(probe);
		}
	}

	/**
	 * The {@link DataSource} of a manager: JDBC and JPA managers share no type that has
	 * one.
	 * @param manager the manager
	 * @return its {@link DataSource}, if it has one
	 */
	static @Nullable DataSource dataSource(PlatformTransactionManager manager) {
		if (manager instanceof ResourceTransactionManager resources
				&& resources.getResourceFactory() instanceof DataSource found) {
			return found;
		}
		Method getter = ReflectionUtils.findMethod(manager.getClass(), "getDataSource");
		Object dataSource = (getter != null) ? ReflectionUtils.invokeMethod(getter, manager) : null;
		return (dataSource instanceof DataSource other) ? other : null;
	}

	private static @Nullable DataSource target(@Nullable DataSource dataSource) {
		DataSource target = dataSource;
		while (target instanceof DelegatingDataSource delegating && delegating.getTargetDataSource() != null) {
			target = delegating.getTargetDataSource();
		}
		return target;
	}

}
