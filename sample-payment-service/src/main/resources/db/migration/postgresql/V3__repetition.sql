-- "repeat" is a reserved word of MariaDB, and both databases have the same names.
alter table payment rename column repeat to repetition;
