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
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run makes what args ask for, and writes a line for each file or folder: where, and of an image its name and digest.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.format == formatLicenses {
		return writeLicenses(ctx, o, stdout)
	}
	o.stamp, err = readStamp(ctx, o)
	if err != nil {
		return err
	}
	for _, p := range o.programs {
		made, err := assemble(ctx, o, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		var written []output
		switch o.format {
		case formatOCI:
			written, err = writeLayout(o, made)
		case formatDockerArchive:
			written, err = writeArchives(o, made)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, w := range written {
			fmt.Fprintf(stdout, "%s %s %s\n", w.path, w.name, w.digest)
		}
	}
	return nil
}
