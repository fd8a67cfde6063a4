package deploy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// maxMetrics bounds what is read of a component's metrics, in bytes.
const maxMetrics = 16 << 20

// metricsPort is where a container of the sandbox's manifests serves its metrics, in plain HTTP, on a loopback address of its
// node; of another cloud controller manager it is the port that all have, where who asks has to say who he is.
type metricsPort struct {
	port   int
	secure bool
}

// upstreamPort is the default port of cloud controller managers.
const upstreamPort = 10258

func metricsOf(c corev1.Container, ccm bool) (metricsPort, error) {
	for _, flag := range []string{"--health-address", "--metrics-address"} {
		if _, port, err := net.SplitHostPort(flagValue(c.Args, flag)); err == nil {
			n, err := strconv.Atoi(port)
			return metricsPort{port: n}, err
		}
	}
	if !ccm {
		return metricsPort{}, errors.New("it serves no metrics: its command line names no address for them")
	}
	port := upstreamPort
	if given := flagValue(c.Args, "--secure-port"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || n == 0 {
			return metricsPort{}, errors.New("it serves no metrics: its --secure-port is " + given)
		}
		port = n
	}
	return metricsPort{port, true}, nil
}

// Metrics are what a component counts, in the text format of Prometheus. They are fetched through the API server by
// port-forwarding, which alone reaches a loopback address of a node.
func (d *Deployment) Metrics(ctx context.Context, component string) ([]byte, error) {
	c, err := d.component(ctx, component)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	data, err := d.metrics(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("metrics of %s (pod %s/%s): %w", component, c.Namespace, c.Pod, err)
	}
	return data, nil
}

func (d *Deployment) metrics(ctx context.Context, c Change) ([]byte, error) {
	if c.State != Running {
		return nil, fmt.Errorf("it does not run: it is %s %s", c.State, c.Reason)
	}
	pod, err := d.client.CoreV1().Pods(c.Namespace).Get(ctx, c.Pod, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	program := container(&pod.Spec, c.Container)
	if program == nil {
		return nil, errors.New("the container is gone")
	}
	at, err := metricsOf(*program, c.Component == "ccm" || len(c.Component) > 4 && c.Component[:4] == "ccm-")
	if err != nil {
		return nil, err
	}
	local, end, err := d.forward(ctx, c, at.port)
	if err != nil {
		return nil, err
	}
	defer end()
	return fetch(ctx, local, at.secure)
}

// forward opens a port on a loopback address of this machine that leads to one of a pod, until end is called.
func (d *Deployment) forward(ctx context.Context, c Change, port int) (local string, end func(), err error) {
	if d.rest == nil {
		return "", nil, errors.New("there are no connections to pods")
	}
	transport, upgrader, err := spdy.RoundTripperFor(d.rest)
	if err != nil {
		return "", nil, err
	}
	to := d.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(c.Namespace).Name(c.Pod).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, to)
	stop, ready, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var said bytes.Buffer
	f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{":" + strconv.Itoa(port)}, stop, ready, io.Discard, &said)
	if err != nil {
		return "", nil, err
	}
	go func() { ended <- f.ForwardPorts() }()
	end = func() {
		close(stop)
		<-ended
	}
	select {
	case <-ready:
	case err := <-ended:
		return "", nil, fmt.Errorf("no connection to the pod: %w", err)
	case <-ctx.Done():
		end()
		return "", nil, context.Cause(ctx)
	}
	ports, err := f.GetPorts()
	if err != nil || len(ports) != 1 {
		end()
		return "", nil, fmt.Errorf("no port to the pod: %w", err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local))), end, nil
}

// fetch reads /metrics. A TLS certificate cannot be verified, since the program generates it; the connection is trusted,
// because the API server and the kubelet forward it to that pod.
func fetch(ctx context.Context, addr string, secure bool) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	at := url.URL{Scheme: "http", Host: addr, Path: "/metrics"}
	transport := &http.Transport{DisableKeepAlives: true}
	if secure {
		at.Scheme = "https"
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // see above; no credentials are sent
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return io.ReadAll(io.LimitReader(response.Body, maxMetrics))
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError: // the last without permission for reviews
		if !secure {
			return nil, fmt.Errorf("its program answers %s", response.Status)
		}
		return nil, errors.New("its program shows metrics only to authenticated clients, and its ServiceAccount may not create TokenReviews")
	default:
		return nil, fmt.Errorf("its program answers %s", response.Status)
	}
}
