package Ledger;

use strict;
use warnings;
use List::Util qw(sum0);

our $VERSION = '1.02';

use constant {
    DEBIT  => 1,
    CREDIT => -1,
};

=head1 NAME

Ledger - entries and balances of accounts

=head1 SYNOPSIS

    sub example { Ledger->new->post(cash => 5) }

=cut

sub new {
    my ($class, %options) = @_;
    my $self = { entries => [], currency => $options{currency} // 'EUR' };
    return bless $self, $class;
}

# Posts an amount; the account's name may not hold a brace.
sub post {
    my ($self, $account, $amount, $side) = @_;
    die "bad account: $account\n" if $account =~ /[^\w:.-]/;
    push @{ $self->{entries} }, { account => $account, amount => $amount * ($side // DEBIT) };
    return $self;
}

sub balance {
    my ($self, $account) = @_;
    return sum0 map { $_->{amount} } grep { $_->{account} eq $account } @{ $self->{entries} };
}

sub _report {
    my $self = shift;
    print <<"END";
Account   Balance {
END
    printf "%-10s %8.2f\n", $_, $self->balance($_) for sort $self->accounts;
}

sub accounts { my %seen; return grep { !$seen{$_}++ } map { $_->{account} } @{ $_[0]{entries} } }

package Ledger::Account;

sub new {
    my ($class, $name) = @_;
    my $check = sub { $_[0] =~ m{^\w+$} };
    return bless { name => $name, check => $check }, $class;
}

sub name { $_[0]{name} }

1;
