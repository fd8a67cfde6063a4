package metrics

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

const (
	// fresh is how long readings answer requests.
	fresh = 2 * time.Second
	// shortest is the shortest window of a use of CPUs, longest the longest: older readings are forgotten.
	shortest = time.Second
	longest  = time.Minute
	// readTimeout bounds one kubelet: one that hangs must not hold up the others' answers for long.
	readTimeout = 3 * time.Second
	// parallel is the number of kubelets that are read at a time.
	parallel = 32
	// maxBody is more than a kubelet with all its pods reports.
	maxBody = 4 << 20
)

// scraper reads kubelets.
type scraper struct {
	nodes kubernetes.Interface
	http  *http.Client

	turn chan struct{} // held by who reads; guards what follows
	last time.Time
	of   map[string]window // by the name of the Node
}

// window is two readings of a kubelet; before is nil after the first. A kubelet that does not answer has only err.
type window struct {
	before, now *reading
	err         error
}

func newScraper(client kubernetes.Interface, kubelets *http.Client) *scraper {
	return &scraper{nodes: client, http: kubelets, turn: make(chan struct{}, 1)}
}

// windows returns fresh readings of all kubelets, by Node. The caller must not change them.
func (s *scraper) windows(ctx context.Context) (map[string]window, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if time.Since(s.last) < fresh {
		return s.of, nil
	}
	if time.Since(s.last) > longest {
		s.of = nil
	}
	complete, err := s.read(ctx)
	if err == nil && !complete {
		select {
		case <-time.After(shortest):
			_, err = s.read(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	s.last = time.Now()
	return s.of, nil
}

// read reads every kubelet once, and reports whether each that answered has two readings.
func (s *scraper) read(ctx context.Context) (complete bool, err error) {
	list, err := s.nodes.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return false, err
	}
	var (
		mu  sync.Mutex
		all errgroup.Group
		of  = map[string]window{}
	)
	complete = true
	all.SetLimit(parallel)
	for _, n := range list.Items {
		all.Go(func() error {
			now, err := s.kubelet(ctx, &n)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				klog.V(2).InfoS("metrics of a kubelet", "node", n.Name, "err", err) // mostly: its VM is off
				of[n.Name] = window{err: err}
				return nil
			}
			w := window{before: s.of[n.Name].now, now: now}
			if b := s.of[n.Name].before; b != nil && !w.now.node.at.After(w.before.node.at) { // it has measured nothing since
				w.before = b
			}
			of[n.Name] = w
			complete = complete && w.before != nil
			return nil
		})
	}
	_ = all.Wait() // nothing of it fails
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.of = of
	return complete, nil
}

// kubelet reads one kubelet.
func (s *scraper) kubelet(ctx context.Context, n *corev1.Node) (*reading, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	port := n.Status.DaemonEndpoints.KubeletEndpoint.Port
	if port == 0 {
		port = contract.KubeletPort
	}
	url := "https://" + net.JoinHostPort(n.Name, strconv.Itoa(int(port))) + "/metrics/resource"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := s.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(res.Body, 256)) // for the error only
		return nil, fmt.Errorf("%s: %s", res.Status, body)
	}
	return parse(io.LimitReader(res.Body, maxBody), time.Now())
}
