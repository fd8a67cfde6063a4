package program

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// Main runs the tests of a package as its TestMain and returns the exit code. They find in binary a copy of the program that
// every user may run, and in as the user to run it as; nil for the current one. The copy is removed afterwards.
func Main(m *testing.M, binary *string, as **syscall.Credential) int {
	// What is caught here has its ordinary effect in the programs that the tests start, also when all of it runs under nohup.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	code, err := run(m, binary, as)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func run(m *testing.M, binary *string, as **syscall.Credential) (code int, err error) {
	built, err := Find()
	if err != nil {
		return 0, err
	}
	if *as, err = Unprivileged(); err != nil {
		return 0, err
	}
	copied, remove, err := CopyForAll(built)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	*binary = copied
	return m.Run(), nil
}
