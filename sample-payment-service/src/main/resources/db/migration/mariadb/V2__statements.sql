-- What the events of the ledger add up to. The balance is the one that the last event tells.
create table account_statement (
	account varchar(32) not null,
	amount numeric(14, 2) not null default 0,
	balance numeric(14, 2) not null default 0,
	last_entry bigint not null default 0,
	out_of_order bigint not null default 0,
	primary key (account)
);

insert into account_statement (account)
select number from account where ledger = 'ledger';

-- No unique key on payment or entry: nothing but the listener keeps an event from being applied twice.
create table statement_line (
	id bigint not null auto_increment,
	account varchar(32) not null,
	payment_id uuid not null,
	entry bigint not null,
	amount numeric(12, 2) not null,
	booked_at datetime(6) not null default utc_timestamp(6),
	primary key (id)
);
