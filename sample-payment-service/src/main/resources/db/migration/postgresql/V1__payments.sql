create table payment (
	id uuid not null,
	account varchar(32) not null,
	amount numeric(12, 2) not null,
	repeat varchar(16) not null,
	messages_sent integer not null default 0,
	sent boolean not null default false,
	constraint payment_pk primary key (id)
);

create index payment_unsent_ix on payment (id) where not sent;

-- Balances start at zero, so that the sum of the debits can be read off them.
create table account (
	ledger varchar(32) not null,
	number varchar(32) not null,
	balance numeric(14, 2) not null default 0,
	constraint account_pk primary key (ledger, number)
);

insert into account (ledger, number)
select ledger, 'ACC-' || to_char(number, 'FM00')
from unnest(array['ledger', 'ledger-unprotected']) as ledger, generate_series(1, 20) as number;

-- No unique key on the payment: nothing but the listener keeps a ledger from charging twice.
create table ledger_entry (
	id bigint generated always as identity,
	ledger varchar(32) not null,
	payment_id uuid not null,
	account varchar(32) not null,
	amount numeric(12, 2) not null,
	booked_at timestamp with time zone not null default current_timestamp,
	constraint ledger_entry_pk primary key (id)
);

create table gateway_call (
	id bigint generated always as identity,
	idempotency_key varchar(512) not null,
	received_at timestamp with time zone not null default current_timestamp,
	constraint gateway_call_pk primary key (id)
);

create table gateway_charge (
	idempotency_key varchar(512) not null,
	account varchar(32) not null,
	amount numeric(12, 2) not null,
	constraint gateway_charge_pk primary key (idempotency_key)
);
