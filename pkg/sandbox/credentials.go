package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// watchCredentials follows the Secret with the credentials, for the event log: what the cloud controller manager does
// next has its cause there.
func (s *Sandbox) watchCredentials() error {
	factory := s.informersOf(cloudSecret)
	_, err := factory.Core().V1().Secrets().Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, known bool) {
			if !known {
				s.credentialsChanged(nil, o.(*corev1.Secret).Data)
				s.copyCredentialsSoon()
			}
		},
		UpdateFunc: func(old, o any) {
			was, is := old.(*corev1.Secret).Data, o.(*corev1.Secret).Data
			s.credentialsChanged(was, is)
			if !maps.EqualFunc(was, is, bytes.Equal) {
				s.copyCredentialsSoon()
			}
		},
		DeleteFunc: func(any) {
			s.credentialsEvent(event.Warning, "deleted")
			s.copyCredentialsSoon()
		},
	})
	if err != nil {
		return err
	}
	s.background.Run("cloud config", func(ctx context.Context) {
		factory.Start(ctx.Done())
		<-ctx.Done()
		factory.Shutdown()
	})
	return nil
}

// copyCredentialsSoon copies them without keeping whoever tells of changes waiting.
func (s *Sandbox) copyCredentialsSoon() {
	s.background.Run("cloud config", func(ctx context.Context) {
		if err := s.copyCredentials(ctx); err != nil && ctx.Err() == nil {
			s.opts.Logger.Error("credentials", "err", err)
		}
	})
}

// credentialsChanged writes down which keys of the Secret are new, gone or others; never what they hold.
func (s *Sandbox) credentialsChanged(old, data map[string][]byte) {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(data)) {
		switch before, was := old[key]; {
		case !was:
			words = append(words, key+" added")
		case !bytes.Equal(before, data[key]):
			words = append(words, key+" changed")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(old)) {
		if _, is := data[key]; !is {
			words = append(words, key+" removed")
		}
	}
	if len(words) > 0 {
		s.credentialsEvent(event.Info, strings.Join(words, ", "))
	}
}

func (s *Sandbox) credentialsEvent(level event.Level, message string) {
	s.log.Append(event.Event{
		Plane: event.PlaneKubernetes, Level: level, Kind: "ccm.credentials-changed",
		Object: event.Object{Kind: "Secret", Name: cloudSecret}, Message: message, Cause: s.causes.OfChange("Secret", cloudSecret),
	})
}

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
	if !s.csiDeployed() {
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
