-- What the events of the ledger add up to. The balance is the one that the last event tells.
create table account_statement (
	account varchar(32) not null,
	amount numeric(14, 2) not null default 0,
	balance numeric(14, 2) not null default 0,
	last_entry bigint not null default 0,
	out_of_order bigint not null default 0,
	constraint account_statement_pk primary key (account)
);

insert into account_statement (account)
select number from account where ledger = 'ledger';

-- No unique key on payment or entry: nothing but the listener keeps an event from being applied twice.
create table statement_line (
	id bigint generated always as identity,
	account varchar(32) not null,
	payment_id uuid not null,
	entry bigint not null,
	amount numeric(12, 2) not null,
	booked_at timestamp with time zone not null default current_timestamp,
	constraint statement_line_pk primary key (id)
);
