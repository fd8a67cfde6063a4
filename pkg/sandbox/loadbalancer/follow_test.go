package loadbalancer

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// awaitNote returns when an Event has a text.
func awaitNote(t *testing.T, client *fake.Clientset, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	w, err := client.CoreV1().Events("shop").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	list, err := client.CoreV1().Events("shop").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		if strings.Contains(e.Message, text) {
			return
		}
	}
	for {
		select {
		case change := <-w.ResultChan():
			if e, ok := change.Object.(*corev1.Event); ok && strings.Contains(e.Message, text) {
				return
			}
		case <-ctx.Done():
			t.Fatalf("no Event has %q", text)
		}
	}
}

// TestFollow: where another load balancer gives addresses, the sandbox listens at those that are loopback addresses, follows their
// changes, and writes no status.
func TestFollow(t *testing.T) {
	at := func(ip string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}} }
	}
	client := start(t, &Balancer{Follow: true}, service("web", at("127.1.251.120")), service("elsewhere", at("10.20.0.1")), service("pending"))
	awaitNote(t, client, "127.1.251.120")
	web := await(t, client, "web", hasAddress)
	if status, _ := get(t, web); status != 503 {
		t.Errorf("without endpoints the status is %d", status)
	}
	at("127.1.251.121")(web)
	if _, err := client.CoreV1().Services("shop").UpdateStatus(t.Context(), web, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitNote(t, client, "127.1.251.121")
	if c, err := net.DialTimeout("tcp", "127.1.251.120:18080", time.Second); err == nil {
		c.Close()
		t.Error("the old address still answers")
	}
	if status, _ := get(t, web); status != 503 {
		t.Errorf("at the new address the status is %d", status)
	}
	updates := 0
	for _, action := range client.Actions() {
		if action.GetVerb() == "update" && action.GetResource().Resource == "services" {
			updates++
		}
	}
	if updates != 1 {
		t.Errorf("Services were updated %d times: one is the test's", updates)
	}
	pending := await(t, client, "pending", func(*corev1.Service) bool { return true })
	if hasAddress(pending) {
		t.Errorf("a pending Service has %v", pending.Status.LoadBalancer)
	}
	if web := await(t, client, "web", hasAddress); web.Status.LoadBalancer.Ingress[0].IPMode != nil {
		t.Errorf("the balancer wrote %v", web.Status.LoadBalancer)
	}
}
