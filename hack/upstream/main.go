package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	cache := flags.String("cache", "", "folder of the binaries (default: vsphere-sandbox/upstream in the user's cache folder)")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: upstream [-cache FOLDER] VERSION, for example v1.36.0")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		flags.Usage()
		return fmt.Errorf("%d versions given, want 1", flags.NArg())
	}
	version := flags.Arg(0)
	if err := check(version); err != nil {
		return err
	}
	if *cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		*cache = filepath.Join(dir, "vsphere-sandbox", "upstream")
	}
	binary := filepath.Join(*cache, version, runtime.GOOS+"-"+runtime.GOARCH, filepath.Base(command))
	if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "building %s@%s (the first time some minutes)\n", module, version)
		if err := build(ctx, version, binary); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	fmt.Println(binary)
	return nil
}
