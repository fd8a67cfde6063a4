package provider

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

func secretNamed(name string, pairs ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string][]byte{}}
	for i := 0; i < len(pairs); i += 2 {
		s.Data[pairs[i]] = []byte(pairs[i+1])
	}
	return s
}

// A Secret is missing, incomplete, complete, changed and deleted; every change is reported, and no other Secret is read.
func TestSecrets(t *testing.T) {
	ref := config.SecretRef{Namespace: "ns", Name: "creds"}
	changes := make(chan config.SecretRef, 16)
	s := newSecrets(slog.New(slog.DiscardHandler), func(r config.SecretRef) { changes <- r })
	s.want(ref)
	client := fake.NewClientset(secretNamed("other", "vc.example.username", "x", "vc.example.password", "x"))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	s.follow(ctx, client, &running)

	expect := func(want vcenter.Credentials, problem string) {
		t.Helper()
		got, err := s.credentials(ctx, ref, "VC.example")
		if got != want || (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("got %+v, %v; want %+v, %q", got, err, want, problem)
		}
	}
	<-changes
	expect(vcenter.Credentials{}, "secret ns/creds: does not exist")

	secrets := client.CoreV1().Secrets("ns")
	if _, err := secrets.Create(ctx, secretNamed("creds", "vc.example.username", "u"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	<-changes
	expect(vcenter.Credentials{}, "keys VC.example.username and VC.example.password are needed")

	full := secretNamed("creds", "vc.example.username", "u\n", "Vc.Example.Password", "p \r\n")
	if _, err := secrets.Update(ctx, full, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	<-changes
	expect(vcenter.Credentials{User: "u", Password: "p "}, "")

	for _, name := range []string{"other", "creds"} {
		if err := secrets.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	<-changes
	expect(vcenter.Credentials{}, "does not exist")
	if len(changes) > 0 {
		t.Errorf("%d more changes told", len(changes))
	}
}

// An unreadable Secret is reported with the reason, once; the last content stays in use.
func TestSecretForbidden(t *testing.T) {
	ref := config.SecretRef{Namespace: "ns", Name: "creds"}
	changes := make(chan config.SecretRef, 16)
	s := newSecrets(slog.New(slog.DiscardHandler), func(r config.SecretRef) { changes <- r })
	s.want(ref)
	client := fake.NewClientset()
	client.PrependReactor("list", "secrets", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), "creds", errors.New("no role"))
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	s.follow(ctx, client, &running)
	<-changes
	if _, err := s.now(ref, "vc.example"); err == nil || !strings.Contains(err.Error(), `secret ns/creds: `) || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("got %v", err)
	}
	s.keep(nil)
	if _, err := s.now(ref, "vc.example"); err == nil || !strings.Contains(err.Error(), "no longer in use") {
		t.Errorf("got %v", err)
	}
}
