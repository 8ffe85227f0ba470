package dev.idempotency.autoconfigure;

import java.time.Clock;
import java.util.Set;
import java.util.TreeSet;

import javax.sql.DataSource;

import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.listener.BatchInterceptor;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.RecordInterceptor;
import org.springframework.kafka.listener.adapter.RecordFilterStrategy;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.concurrent.SimpleAsyncTaskScheduler;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.testsupport.Contexts;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the library replaces no bean of the application or of Spring Boot.
 */
@Tag("promise-13")
@Order(3)
class GuestTests {

	@ParameterizedTest
	@ValueSource(classes = { RecordInterceptor.class, BatchInterceptor.class, RecordFilterStrategy.class,
			CommonErrorHandler.class, ObjectMapper.class, TransactionTemplate.class, PlatformTransactionManager.class,
			TaskScheduler.class, Clock.class, Flyway.class, DataSource.class })
	void beansOfSpringBootAreUnchanged(Class<?> type) {
		assertThat(names(Contexts.all(), type)).isEqualTo(names(Contexts.boot(), type));
	}

	@ParameterizedTest
	@ValueSource(classes = { RecordInterceptor.class, BatchInterceptor.class, RecordFilterStrategy.class,
			CommonErrorHandler.class, ObjectMapper.class, TransactionTemplate.class, PlatformTransactionManager.class,
			TaskScheduler.class, Clock.class, Flyway.class, DataSource.class })
	void beansOfTheApplicationAreUnchanged(Class<?> type) {
		assertThat(names(Contexts.all().withUserConfiguration(Beans.class), type)).isNotEmpty()
			.isEqualTo(names(Contexts.boot().withUserConfiguration(Beans.class), type));
	}

	@Test
	void everyBeanOfTheLibraryHasAnOwnNameAndType() {
		Contexts.all().run((context) -> {
			Set<String> added = new TreeSet<>(Set.of(context.getBeanDefinitionNames()));
			added.removeAll(allNames(Contexts.boot()));
			assertThat(added).isNotEmpty()
				.allMatch((name) -> context.getType(name).getName().startsWith("dev.idempotency."));
		});
	}

	@Test
	void disabledLibraryHasNoBeans() {
		ApplicationContextRunner disabled = Contexts.all().withPropertyValues("idempotency.enabled=false");
		Set<String> names = allNames(disabled);
		assertThat(names).isEqualTo(allNames(Contexts.boot()));
	}

	@Test
	void disabledLibraryRegistersNoProxyCreator() {
		ApplicationContextRunner runner = new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(Contexts.autoConfigurations().toArray(Class<?>[]::new)));
		String creator = "org.springframework.aop.config.internalAutoProxyCreator";
		assertThat(allNames(runner)).contains(creator);
		assertThat(allNames(runner.withPropertyValues("idempotency.enabled=false"))).doesNotContain(creator);
	}

	private static Set<String> names(ApplicationContextRunner runner, Class<?> type) {
		Set<String> names = new TreeSet<>();
		runner.run((context) -> {
			assertThat(context).hasNotFailed();
			names.addAll(Set.of(context.getBeanNamesForType(type)));
		});
		return names;
	}

	private static Set<String> allNames(ApplicationContextRunner runner) {
		Set<String> names = new TreeSet<>();
		runner.run((context) -> {
			assertThat(context).hasNotFailed();
			names.addAll(Set.of(context.getBeanDefinitionNames()));
		});
		return names;
	}

	@Configuration(proxyBeanMethods = false)
	static class Beans {

		@Bean
		RecordInterceptor<Object, Object> userRecordInterceptor() {
			return (record, consumer) -> record;
		}

		@Bean
		BatchInterceptor<Object, Object> userBatchInterceptor() {
			return (records, consumer) -> records;
		}

		@Bean
		RecordFilterStrategy<Object, Object> userFilter() {
			return (record) -> false;
		}

		@Bean
		DefaultErrorHandler userErrorHandler() {
			return new DefaultErrorHandler();
		}

		@Bean
		JsonMapper userMapper() {
			return new JsonMapper();
		}

		@Bean
		TransactionTemplate userTemplate(PlatformTransactionManager manager) {
			return new TransactionTemplate(manager);
		}

		@Bean
		TaskScheduler userScheduler() {
			return new SimpleAsyncTaskScheduler();
		}

		@Bean
		Clock userClock() {
			return Clock.systemUTC();
		}

		@Bean
		Flyway userFlyway(DataSource dataSource) {
			return Flyway.configure().dataSource(dataSource).load();
		}

	}

}
