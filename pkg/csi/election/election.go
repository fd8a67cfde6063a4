// Package election elects a leader among the replicas of a process: of the driver's controller, and of each sidecar.
//
// Floor 1.
package election

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
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Options configure the election, with the flags and defaults of csi-lib-utils.
type Options struct {
	Enabled   bool
	Namespace string
	// Identity is the name of this process in the Lease, to which a random part is added. "" is the host's name alone.
	Identity               string
	duration, renew, retry time.Duration
}

// Flags defines the flags.
func (e *Options) Flags(fs *flag.FlagSet) {
	fs.BoolVar(&e.Enabled, "leader-election", false, "Work only while holding the Lease.")
	fs.StringVar(&e.Namespace, "leader-election-namespace", "", "Namespace of the Lease; the default is the pod's namespace.")
	fs.StringVar(&e.Identity, "leader-election-identity", "", "Name of this process in the Lease, with a random part; the default is the host's name. Processes of one host need different ones.")
	fs.DurationVar(&e.duration, "leader-election-lease-duration", 15*time.Second, "How long other candidates wait before they acquire an expired Lease.")
	fs.DurationVar(&e.renew, "leader-election-renew-deadline", 10*time.Second, "How long the holder tries to renew the Lease before it gives up.")
	fs.DurationVar(&e.retry, "leader-election-retry-period", 5*time.Second, "How long to wait between two tries.")
}

// HealthPath is the path of the health of an election. It is the path of csi-lib-utils, as is the timeout.
const HealthPath = "/healthz/leader-election"

const healthTimeout = 20 * time.Second

var errNoLeader = errors.New("the Lease is lost: another process may lead now")

// Elector runs a function while this process leads, until ctx ends. Its error is nil then. If the Lease is lost, it returns at once,
// with the context of the function canceled.
type Elector func(ctx context.Context, run func(context.Context)) error

// Elector returns the elector of a Lease, with its health in mux unless that is nil. Without election it runs the function at once. It
// uses a separate client, so that a Lease is renewed however busy the controllers are.
func (e *Options) Elector(cfg *rest.Config, lease string, mux *http.ServeMux) (Elector, error) {
	if !e.Enabled {
		return func(ctx context.Context, run func(context.Context)) error {
			run(ctx)
			return nil
		}, nil
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	identity, err := e.identity()
	if err != nil {
		return nil, err
	}
	health := leaderelection.NewLeaderHealthzAdaptor(healthTimeout)
	if mux != nil {
		mux.HandleFunc(HealthPath, func(w http.ResponseWriter, r *http.Request) {
			if err := health.Check(r); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
	}
	config := leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: e.leaseNamespace(), Name: leaseName(lease)},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration: e.duration, RenewDeadline: e.renew, RetryPeriod: e.retry,
		WatchDog: health, ReleaseOnCancel: true,
	}
	return func(ctx context.Context, run func(context.Context)) error { return lead(ctx, config, run) }, nil
}

// identity returns the name of this process in the Lease. The random part makes a process that is started again another candidate: it
// must not renew the Lease of the one before.
func (e *Options) identity() (string, error) {
	if e.Identity != "" {
		return e.Identity + separator + string(uuid.NewUUID()), nil
	}
	host, err := os.Hostname()
	return leaseName(host), err
}

// separator is what the random part of an identity begins with.
const separator = "_"

// Name returns the name of a process without the random part, from the holder in a Lease.
func Name(holder string) string {
	name, _, _ := strings.Cut(holder, separator)
	return name
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
func (e *Options) leaseNamespace() string {
	if e.Namespace != "" {
		return e.Namespace
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
