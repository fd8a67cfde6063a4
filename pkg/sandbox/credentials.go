package sandbox

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

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
