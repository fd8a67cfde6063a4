package clusterapi

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// Set up by TestMain and only read afterwards.
var (
	binary string              // the program, where the user of the tests can run it
	as     *syscall.Credential // the user to run it as; nil for the current one
)

func TestMain(m *testing.M) {
	// What is caught here has its ordinary effect in the programs that the tests start, also when all of it runs under nohup.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	built, err := program.Find()
	if err != nil {
		return 0, err
	}
	if as, err = program.Unprivileged(); err != nil {
		return 0, err
	}
	copied, remove, err := program.CopyForAll(built)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	binary = copied
	return m.Run(), nil
}
