// Command greeter is what a pod of the tests serves: a page with its host's name, at an address.
//
//	greeter ADDRESS
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "greeter:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: greeter ADDRESS")
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	server := &http.Server{Addr: args[0], ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "greetings from %s\n", host)
	})}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // the process ends
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
