package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// controllers are what a sidecar is for.
type controllers interface {
	// flags adds those that are this sidecar's own, with upstream's defaults.
	flags(fs *flag.FlagSet)
	// build makes the controllers; nothing runs yet.
	build(ctx context.Context, w *world) (*built, error)
}

// world is what controllers stand on.
type world struct {
	options
	rest   *rest.Config // JSON, for custom resources
	client kubernetes.Interface
	driver *driver // nil for a sidecar without
}

// built are controllers that can run.
type built struct {
	// lease is the name of their Lease, as in upstream's main packages: two releases of a sidecar exclude each other.
	lease string
	// run lasts as long as ctx; wg counts workers that are still busy then.
	run func(ctx context.Context, wg *sync.WaitGroup)
	// metrics are beyond those that every sidecar has.
	metrics []prometheus.Gatherer
}

// grace is how long workers may take to finish what they have in hand, after the end has been asked for.
const grace = 5 * time.Second

// run is the sidecar, until ctx ends, which is no error, or something that upstream's ends for, too: the driver that is
// gone, a Lease that is lost.
func (s sidecar) run(ctx context.Context, args []string, stdout io.Writer) error {
	c, w, logging, err := s.parse(args, stdout)
	if err != nil {
		return err
	}
	if w.showVersion {
		fmt.Fprintln(stdout, s.name, s.version())
		return nil
	}
	if err := errors.Join(w.validate(s.driver), logging.apply(), setGates(w.gates)); err != nil {
		return err
	}
	klog.InfoS("Version", "sidecar", s.name, "version", s.version())

	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	err = s.serve(ctx, end, c, w)
	// What stopped all else is told rather than what came of it.
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// parse reads the command line; --help is answered on stdout.
func (s sidecar) parse(args []string, stdout io.Writer) (controllers, *world, *logger, error) {
	c, w := s.new(), &world{}
	fs := flag.NewFlagSet(s.name, flag.ContinueOnError)
	fs.SetOutput(stdout)
	w.flags(fs, s.driver)
	c.flags(fs)
	logging := logFlags(fs)
	if err := fs.Parse(args); err != nil {
		return nil, nil, nil, err
	}
	if fs.NArg() > 0 {
		return nil, nil, nil, fmt.Errorf("%s takes no argument %q", s.name, fs.Arg(0))
	}
	return c, w, logging, nil
}

// serve works until ctx ends; end ends it.
func (s sidecar) serve(ctx context.Context, end context.CancelCauseFunc, c controllers, w *world) error {
	plain, protobuf, err := w.kube()
	if err != nil {
		return err
	}
	w.rest = plain
	if w.client, err = kubernetes.NewForConfig(protobuf); err != nil {
		return err
	}
	if s.driver {
		if w.driver, err = connect(ctx, w.address, end); err != nil {
			return err
		}
		defer w.driver.close()
	}
	b, err := c.build(ctx, w)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	lead, err := w.election.elector(plain, b.lease, mux)
	if err != nil {
		return err
	}
	stop, err := w.listen(mux, b, end)
	if err != nil {
		return err
	}
	defer stop()
	return lead(ctx, func(ctx context.Context) {
		var busy sync.WaitGroup
		b.run(ctx, &busy)
		waitFor(&busy, grace)
	})
}

// waitFor waits, but not for ever.
func waitFor(wg *sync.WaitGroup, atMost time.Duration) {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(atMost):
		klog.InfoS("Work in hand is left behind", "after", atMost)
	}
}
