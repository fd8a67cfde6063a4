package sandbox

import (
	"context"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// noCCM is what runs where there is no cloud controller manager yet.
func noCCM() CCM { return CCM{None: true, Program: ccm.Program{Source: "none"}} }

// startNoCCM prepares for a cloud controller manager that somebody brings later, by [Sandbox.swapCCM].
func (s *Sandbox) startNoCCM(context.Context) error {
	if err := s.certifyCCM(); err != nil {
		return err
	}
	s.ccms.tell(func() { s.ccms.runs = noCCM() })
	s.background.Run("ccm health", s.watchCCMHealth)
	return nil
}

// adoptCCM does for a process what a kubelet does before it starts the pod of a cloud controller manager that somebody
// has deployed: vsphere.conf of their ConfigMap is there, and a token of their ServiceAccount. Nothing is granted to it.
func (s *Sandbox) adoptCCM(ctx context.Context) error {
	s.adopting.Lock()
	defer s.adopting.Unlock()
	core := s.cluster.Client().CoreV1()
	m, err := core.ConfigMaps(cloudNamespace).Get(ctx, cloudConfigMap, metav1.GetOptions{})
	switch _, there := m.Data[cloudConfigKey]; {
	case apierrors.IsNotFound(err), err == nil && !there:
		return lacking("vsphere-sandbox kubectl -n "+cloudNamespace+" create configmap "+cloudConfigMap+" --from-file="+cloudConfigKey,
			"ConfigMap %s/%s with a key %s", cloudNamespace, cloudConfigMap, cloudConfigKey)
	case err != nil:
		return err
	}
	_, err = core.ServiceAccounts(cloudNamespace).Get(ctx, ccmServiceAccount, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return lacking("vsphere-sandbox kubectl apply -k DIR   # an overlay of manifests/ccm",
			"ServiceAccount %s/%s", cloudNamespace, ccmServiceAccount)
	case err != nil:
		return err
	}
	if err := s.awaitProjection(ctx); err != nil {
		return err
	}
	if s.adopted { // it is renewed already; of an account that was made anew meanwhile, it has to be another
		_, err := s.tokens.Write(ctx, s.ccmAccount())
		return err
	}
	if err := s.tokens.Project(ctx, s.ccmAccount()); err != nil {
		return err
	}
	s.adopted = true
	return nil
}

// awaitProjection returns when the file is there: a watch may tell of a ConfigMap a moment after it was made.
func (s *Sandbox) awaitProjection(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(s.cloudConfigFile()); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s of ConfigMap %s/%s: not written to a file: %w", cloudConfigKey, cloudNamespace, cloudConfigMap, context.Cause(ctx))
		}
	}
}

// lacking says what is not there yet, and how it gets there.
func lacking(try, format string, args ...any) *api.Error {
	e := api.Conflict("no cloud controller manager can start: there is no "+format, args...)
	e.Try = try
	return e
}
