package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	cliflag "k8s.io/component-base/cli/flag"
)

// options are the flags that sidecars have in common, with the defaults of csi-lib-utils' standardflags.
type options struct {
	showVersion         bool
	kubeconfig, address string
	qps                 float64
	burst               int
	retryStart          time.Duration
	retryMax            time.Duration
	httpEndpoint        string
	metricsPath         string
	gates               map[string]bool
	election            election
}

func (o *options) flags(fs *flag.FlagSet, driver bool) {
	fs.BoolVar(&o.showVersion, "version", false, "Show the release and end.")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "File that says where the API server is; unless it is given, this has to run in a pod.")
	if driver {
		fs.StringVar(&o.address, "csi-address", "/run/csi/socket", "Unix socket of the CSI driver.")
	}
	fs.Float64Var(&o.qps, "kube-api-qps", 5, "Requests per second to the API server.")
	fs.IntVar(&o.burst, "kube-api-burst", 10, "Requests to the API server that may be made at once.")
	fs.DurationVar(&o.retryStart, "retry-interval-start", time.Second, "How long to wait after the first failure of an operation. It doubles with each one.")
	fs.DurationVar(&o.retryMax, "retry-interval-max", 5*time.Minute, "How long to wait at most after a failure.")
	fs.StringVar(&o.httpEndpoint, "http-endpoint", "", "TCP address for metrics and the health of leader election, such as 127.0.0.1:8080; none unless given.")
	fs.StringVar(&o.metricsPath, "metrics-path", "/metrics", "Where metrics are below --http-endpoint.")
	fs.Var(cliflag.NewMapStringBool(&o.gates), "feature-gates", "Feature gates of the sidecar, as name=true,name=false.")
	o.election.flags(fs)
}

func (o *options) validate(driver bool) error {
	if driver && !strings.HasPrefix(o.address, "/") && !strings.HasPrefix(o.address, "unix://") {
		return fmt.Errorf("--csi-address=%s: the path of a unix socket is needed", o.address)
	}
	if o.retryStart <= 0 || o.retryMax < o.retryStart {
		return errors.New("--retry-interval-start and --retry-interval-max: the first has to be positive and no longer than the second")
	}
	return nil
}

// kube is how to reach the API server; protobuf is for what is not a custom resource.
func (o *options) kube() (plain, protobuf *rest.Config, err error) {
	if o.kubeconfig == "" {
		plain, err = rest.InClusterConfig()
	} else {
		plain, err = clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--kubeconfig=%s: %w", o.kubeconfig, err)
	}
	plain.QPS, plain.Burst = float32(o.qps), o.burst
	protobuf = rest.CopyConfig(plain)
	protobuf.ContentType = runtime.ContentTypeProtobuf
	return plain, protobuf, nil
}

// retries says how long to wait after a failure: a limiter of its own for each queue.
func (o *options) retries() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](o.retryStart, o.retryMax)
}
