package controllers_test

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// fakeCloud is a cloud in which the i-th node runs on the i-th VM. By default every VM exists, is on and healthy.
type fakeCloud struct {
	cloudprovider.Interface // not asked for anything else

	mu    sync.Mutex
	calls map[string]int // by method, by method and node
	hooks hooks
}

// hooks replace the cloud's answers; nil ones do not.
type hooks struct {
	metadata func(node *corev1.Node, m *cloudprovider.InstanceMetadata) error
	exists   func(ctx context.Context, node *corev1.Node) (bool, error)
	shutdown func(node *corev1.Node) (bool, error)
}

func newFakeCloud() *fakeCloud { return &fakeCloud{calls: map[string]int{}} }

func (c *fakeCloud) set(change func(*hooks)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.hooks)
}

func (c *fakeCloud) called(method string, node *corev1.Node) hooks {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[method]++
	c.calls[method+" "+node.Name]++
	return c.hooks
}

// counts returns the number of calls by method, and by method and node.
func (c *fakeCloud) counts() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.calls)
}

func (c *fakeCloud) InstanceMetadata(_ context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	h := c.called("metadata", node)
	i, err := strconv.Atoi(strings.TrimPrefix(node.Name, "node-"))
	if err != nil {
		return nil, err
	}
	m := &cloudprovider.InstanceMetadata{
		ProviderID: providerID(i), InstanceType: "small", NodeAddresses: addresses(i), Region: "eu", Zone: "eu-1",
	}
	if h.metadata != nil {
		if err := h.metadata(node, m); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (c *fakeCloud) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	if h := c.called("exists", node); h.exists != nil {
		return h.exists(ctx, node)
	}
	return true, nil
}

func (c *fakeCloud) InstanceShutdown(_ context.Context, node *corev1.Node) (bool, error) {
	if h := c.called("shutdown", node); h.shutdown != nil {
		return h.shutdown(node)
	}
	return false, nil
}

func (c *fakeCloud) InstancesV2() (cloudprovider.InstancesV2, bool)   { return c, true }
func (c *fakeCloud) Instances() (cloudprovider.Instances, bool)       { return nil, false }
func (c *fakeCloud) Zones() (cloudprovider.Zones, bool)               { return nil, false }
func (c *fakeCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }
func (c *fakeCloud) Routes() (cloudprovider.Routes, bool)             { return nil, false }
func (c *fakeCloud) ProviderName() string                             { return "fake" }
