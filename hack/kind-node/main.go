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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if ctx.Err() != nil {
		err = errors.New("interrupted: what was being made begins anew next time")
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kind-node:", err)
		os.Exit(1)
	}
}

// run makes the image that args ask for, unless it exists. Stdout gets two lines, the image's name and the archive's
// path; stderr gets what is being done.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	key, err := inputs(o.source)
	if err != nil {
		return err
	}
	o.image = o.repository + ":" + key
	archive := o.path("node-" + key + ".tar")
	if o.nameOnly {
		fmt.Fprintf(stdout, "%s\n%s\n", o.image, archive)
		return nil
	}
	if _, err := os.Stat(archive); err != nil || o.debianAgain {
		if err := missing(o); err != nil {
			return err
		}
		unlock, err := lock(o.path("lock"))
		if err != nil {
			return err
		}
		defer unlock()
		if err := produce(ctx, o, archive, stderr); err != nil {
			return err
		}
		if err := retire(o.cache, (&build{options: o}).debianDir()); err != nil {
			return err
		}
	}
	if o.load {
		if err := load(ctx, o, archive, stderr); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "%s\n%s\n", o.image, archive)
	return nil
}
