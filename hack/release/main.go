package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run does what the first word asks for, and writes a line for each file made.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	verbs := map[string]func(context.Context, []string, io.Writer) error{
		"single": single, "sbom": sbom, "charts": charts, "formula": formula,
	}
	if len(args) == 0 || verbs[args[0]] == nil {
		return fmt.Errorf("want one of: single, sbom, charts, formula")
	}
	return verbs[args[0]](ctx, args[1:], stdout)
}
