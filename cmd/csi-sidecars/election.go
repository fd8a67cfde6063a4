package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// election are the options of leader election.
type election struct {
	enabled                bool
	namespace              string
	duration, renew, retry time.Duration
}

func (e *election) flags(fs *flag.FlagSet) {
	fs.BoolVar(&e.enabled, "leader-election", false, "Work only while holding the Lease.")
	fs.StringVar(&e.namespace, "leader-election-namespace", "", "Namespace of the Lease; the default is the pod's namespace.")
	fs.DurationVar(&e.duration, "leader-election-lease-duration", 15*time.Second, "How long other candidates wait before they acquire an expired Lease.")
	fs.DurationVar(&e.renew, "leader-election-renew-deadline", 10*time.Second, "How long the holder tries to renew the Lease before it gives up.")
	fs.DurationVar(&e.retry, "leader-election-retry-period", 5*time.Second, "How long to wait between two tries.")
}

// healthPath and healthTimeout are those of csi-lib-utils.
const (
	healthPath    = "/healthz/leader-election"
	healthTimeout = 20 * time.Second
)

var errNoLeader = errors.New("the Lease is lost: another process may lead now")

// elector returns a function that runs another one while this process leads, or at once without election, until its context ends. It
// uses a separate client, so that a Lease is renewed however busy the controllers are.
func (e *election) elector(cfg *rest.Config, lease string, mux *http.ServeMux) (func(context.Context, func(context.Context)) error, error) {
	if !e.enabled {
		return func(ctx context.Context, run func(context.Context)) error {
			run(ctx)
			return nil
		}, nil
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	identity, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	health := leaderelection.NewLeaderHealthzAdaptor(healthTimeout)
	mux.HandleFunc(healthPath, func(w http.ResponseWriter, r *http.Request) {
		if err := health.Check(r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	config := leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: e.leaseNamespace(), Name: leaseName(lease)},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: leaseName(identity)},
		},
		LeaseDuration: e.duration, RenewDeadline: e.renew, RetryPeriod: e.retry,
		WatchDog: health, ReleaseOnCancel: true,
	}
	return func(ctx context.Context, run func(context.Context)) error { return lead(ctx, config, run) }, nil
}

// lead runs a function while this process holds the Lease. When ctx ends, it releases the Lease after the function has returned; when
// the Lease is lost, it returns at once, because another process may lead then.
func lead(ctx context.Context, config leaderelection.LeaderElectionConfig, run func(context.Context)) error {
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var leading atomic.Bool
	done := make(chan struct{})
	config.Callbacks = leaderelection.LeaderCallbacks{
		OnStoppedLeading: func() {}, // also called without having led
		OnStartedLeading: func(held context.Context) {
			leading.Store(true)
			defer stop()
			defer close(done)
			working, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(held, cancel)()
			run(working)
		},
	}
	elector, err := leaderelection.NewLeaderElector(config)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		if !leading.Load() { // no running work
			stop()
		}
	})()
	elector.Run(electing)
	if ctx.Err() == nil {
		return errNoLeader
	}
	if leading.Load() {
		<-done
	}
	return nil
}

// leaseNamespace returns the namespace of the Lease, as csi-lib-utils do.
func (e *election) leaseNamespace() string {
	if e.namespace != "" {
		return e.namespace
	}
	if pod := os.Getenv("POD_NAMESPACE"); pod != "" {
		return pod
	}
	if data, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace"); err == nil && len(bytes.TrimSpace(data)) > 0 {
		return string(bytes.TrimSpace(data))
	}
	return metav1.NamespaceDefault
}

// leaseName converts a name as csi-lib-utils do: csi.vsphere.vmware.com becomes csi-vsphere-vmware-com.
func leaseName(name string) string {
	name = regexp.MustCompile("[^a-zA-Z0-9-]").ReplaceAllString(name, "-")
	if strings.HasSuffix(name, "-") {
		name += "X"
	}
	return name
}
