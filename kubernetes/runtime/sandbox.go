package runtime

import (
	"context"
	"net/netip"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sandbox is a pod's. Its fields below stopped are protected by Runtime.mu.
type sandbox struct {
	id      string
	config  *runtimeapi.PodSandboxConfig
	handler string
	created time.Time
	ip      netip.Addr // invalid on the host's network

	stopped bool
}

// RunPodSandbox implements the CRI.
func (r *Runtime) RunPodSandbox(ctx context.Context, config *runtimeapi.PodSandboxConfig, handler string) (string, error) {
	s := &sandbox{id: newID(), config: config, handler: handler, created: time.Now()}
	if config.GetLinux().GetSecurityContext().GetNamespaceOptions().GetNetwork() != runtimeapi.NamespaceMode_NODE {
		if !r.addresses.known() && r.opts.PodCIDR != nil {
			cidr, err := r.opts.PodCIDR(ctx)
			if err != nil {
				return "", err
			}
			if err := r.addresses.set(cidr); err != nil {
				return "", err
			}
		}
		ip, err := r.addresses.take()
		if err != nil {
			return "", err
		}
		s.ip = ip
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sandboxes[s.id] = s
	return s.id, nil
}

// StopPodSandbox implements the CRI. Its containers are killed.
func (r *Runtime) StopPodSandbox(ctx context.Context, id string) error {
	r.mu.Lock()
	s := r.sandboxes[id]
	if s == nil {
		r.mu.Unlock()
		return nil // as a real runtime does
	}
	var running []*container
	for _, c := range r.containers {
		if c.sandbox == s {
			running = append(running, c)
		}
	}
	free := !s.stopped && s.ip.IsValid()
	s.stopped = true
	r.mu.Unlock()
	for _, c := range running {
		c.stop(ctx, 0)
	}
	if free {
		r.addresses.free(s.ip)
	}
	return nil
}

// RemovePodSandbox implements the CRI.
func (r *Runtime) RemovePodSandbox(ctx context.Context, id string) error {
	if err := r.StopPodSandbox(ctx, id); err != nil {
		return err
	}
	r.mu.Lock()
	s := r.sandboxes[id]
	delete(r.sandboxes, id)
	var gone []*container
	for id, c := range r.containers {
		if c.sandbox == s {
			gone = append(gone, c)
			delete(r.containers, id)
		}
	}
	r.mu.Unlock()
	for _, c := range gone {
		c.remove()
	}
	return nil
}

// state returns the sandbox's state. The caller holds Runtime.mu.
func (s *sandbox) state() runtimeapi.PodSandboxState {
	if s.stopped {
		return runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	}
	return runtimeapi.PodSandboxState_SANDBOX_READY
}

// PodSandboxStatus implements the CRI.
func (r *Runtime) PodSandboxStatus(_ context.Context, id string, _ bool) (*runtimeapi.PodSandboxStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[id]
	if s == nil {
		return nil, notFound("sandbox", id)
	}
	status := &runtimeapi.PodSandboxStatus{
		Id: s.id, Metadata: s.config.GetMetadata(), State: s.state(), CreatedAt: s.created.UnixNano(),
		Labels: s.config.GetLabels(), Annotations: s.config.GetAnnotations(), RuntimeHandler: s.handler,
		Network: &runtimeapi.PodSandboxNetworkStatus{},
		Linux: &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{
			Options: s.config.GetLinux().GetSecurityContext().GetNamespaceOptions(),
		}},
	}
	if s.ip.IsValid() && !s.stopped {
		status.Network.Ip = s.ip.String()
	}
	return &runtimeapi.PodSandboxStatusResponse{Status: status, Timestamp: time.Now().UnixNano()}, nil
}

// ListPodSandbox implements the CRI.
func (r *Runtime) ListPodSandbox(_ context.Context, f *runtimeapi.PodSandboxFilter) ([]*runtimeapi.PodSandbox, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*runtimeapi.PodSandbox
	for _, s := range r.sandboxes {
		if f.GetId() != "" && f.GetId() != s.id || f.GetState() != nil && f.GetState().State != s.state() ||
			!matches(s.config.GetLabels(), f.GetLabelSelector()) {
			continue
		}
		all = append(all, &runtimeapi.PodSandbox{
			Id: s.id, Metadata: s.config.GetMetadata(), State: s.state(), CreatedAt: s.created.UnixNano(),
			Labels: s.config.GetLabels(), Annotations: s.config.GetAnnotations(), RuntimeHandler: s.handler,
		})
	}
	return all, nil
}

// UpdatePodSandboxResources implements the CRI: there are no cgroups.
func (r *Runtime) UpdatePodSandboxResources(context.Context, *runtimeapi.UpdatePodSandboxResourcesRequest) (*runtimeapi.UpdatePodSandboxResourcesResponse, error) {
	return &runtimeapi.UpdatePodSandboxResourcesResponse{}, nil
}
