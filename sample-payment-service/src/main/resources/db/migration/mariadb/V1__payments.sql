create table payment (
	id uuid not null,
	account varchar(32) not null,
	amount numeric(12, 2) not null,
	repetition varchar(16) not null,
	messages_sent integer not null default 0,
	sent boolean not null default false,
	primary key (id)
);

create index payment_unsent_ix on payment (sent);

-- Balances start at zero, so that the sum of the debits can be read off them.
create table account (
	ledger varchar(32) not null,
	number varchar(32) not null,
	balance numeric(14, 2) not null default 0,
	primary key (ledger, number)
);

insert into account (ledger, number)
select ledger, concat('ACC-', lpad(seq, 2, '0'))
from (select 'ledger' as ledger union all select 'ledger-unprotected') as ledgers, seq_1_to_20;

-- No unique key on the payment: nothing but the listener keeps a ledger from charging twice.
create table ledger_entry (
	id bigint not null auto_increment,
	ledger varchar(32) not null,
	payment_id uuid not null,
	account varchar(32) not null,
	amount numeric(12, 2) not null,
	booked_at datetime(6) not null default utc_timestamp(6),
	primary key (id)
);

create table gateway_call (
	id bigint not null auto_increment,
	idempotency_key varchar(512) not null,
	received_at datetime(6) not null default utc_timestamp(6),
	primary key (id)
);

create table gateway_charge (
	idempotency_key varchar(512) not null,
	account varchar(32) not null,
	amount numeric(12, 2) not null,
	primary key (idempotency_key)
);
