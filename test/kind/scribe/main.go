// Command scribe is what a pod of the tests runs: it adds a line to a file, makes sure that it is on the disk, says every line
// that is there, and stays.
//
//	scribe FILE LINE
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scribe:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	<-ctx.Done()
}

func run(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("usage: scribe FILE LINE")
	}
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, args[1]); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "the book has:\n%sthat is all\n", text)
	return err
}
