CREATE TABLE users_table (id integer);
