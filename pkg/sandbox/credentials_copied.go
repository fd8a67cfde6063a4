package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
)

// clientHost is by what clients that are configured in the cluster reach a vCenter: the keys of the Secret with the
// credentials begin with it.
func (s *Sandbox) clientHost(vcenter string) string {
	if s.ccmDeployed() {
		if host := s.podHost(vcenter); host != "" {
			return host
		}
	}
	if vc := s.vcenters.Find(vcenter); vc != nil {
		return vc.Host()
	}
	return ""
}

// podHost is by what pods reach a vCenter; "" as long as none does.
func (s *Sandbox) podHost(vcenter string) string {
	s.mu.Lock()
	p := s.pods
	s.mu.Unlock()
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reached[vcenter].Host
}

// copyCredentials has a CSI driver that runs as pods know what the cloud controller manager's Secret says: it reads one of
// its own, and whoever changes a password, or gets the Secret wrong, does so for both. A Secret that is gone leaves nothing
// in the copy.
func (s *Sandbox) copyCredentials(ctx context.Context) error {
	if !s.facts.Pods || !s.opts.CSI.Enabled {
		return nil
	}
	s.copying.Lock() // the last that is read is the last that is written
	defer s.copying.Unlock()
	var data map[string][]byte
	core := s.cluster.Client().CoreV1()
	switch from, err := core.Secrets(cloudNamespace).Get(ctx, cloudSecret, metav1.GetOptions{}); {
	case err == nil:
		data = s.asPodsReach(from.Data)
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("credentials for the CSI driver: %w", err)
	}
	if s.opts.CSI.Foreign != nil {
		return s.configureForeignCSI(ctx, data)
	}
	namespace, name := deploy.CSICredentials()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		to, err := core.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil // it is made with the driver, with what is right then
		}
		if err != nil || maps.EqualFunc(to.Data, data, bytes.Equal) {
			return err
		}
		to.Data = data
		_, err = core.Secrets(namespace).Update(ctx, to, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("credentials for the CSI driver: %w", err)
	}
	return nil
}

// asPodsReach is a Secret's data with the hosts by which pods reach the vCenters in its keys; data stays as it is.
func (s *Sandbox) asPodsReach(data map[string][]byte) map[string][]byte {
	hosts := map[string]string{}
	for _, vc := range s.vcenters {
		if host := s.podHost(vc.Name()); host != "" {
			hosts[s.clientHost(vc.Name())] = host
		}
	}
	all := map[string][]byte{}
	for key, value := range data {
		at := strings.LastIndexByte(key, '.')
		if at > 0 && hosts[key[:at]] != "" {
			key = hosts[key[:at]] + key[at:]
		}
		all[key] = value
	}
	return all
}
