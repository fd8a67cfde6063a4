package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The test binary is also a stand-in for e2e.test, which has these tests.
const fakeVariable = "FAKE_E2E_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(fakeVariable); dir != "" {
		fakeMain(dir, os.Args[1:])
	}
	os.Exit(m.Run())
}

// fake returns a program that acts as e2e.test, and the folder where it notes its runs.
func fake(t *testing.T) (program, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	program = filepath.Join(dir, "e2e.test")
	script := fmt.Sprintf("#!/bin/sh\nexec env %s=%s %s \"$@\"\n", fakeVariable, dir, self)
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return program, dir
}

func fakeSpecs() []spec {
	s := func(file, container, text string, labels ...string) spec {
		one := spec{ContainerHierarchyTexts: []string{container, ""}, LeafNodeText: text, LeafNodeType: test, LeafNodeLabels: labels, State: "passed"}
		one.ContainerHierarchyLabels = [][]string{{strings.Trim(strings.Fields(container)[0], "[]")}}
		one.LeafNodeLocation.FileName = "/go/k8s.io/kubernetes@v1.37.2/test/e2e/" + file
		return one
	}
	return []spec{
		s("apimachinery/watch.go", "[sig-api-machinery] Watchers", "should see (all) changes [Conformance]", "Conformance"),
		s("apimachinery/namespace.go", "[sig-api-machinery] Namespaces", "should be flaky [Conformance]", "Conformance"),
		s("apimachinery/namespace.go", "[sig-api-machinery] Namespaces", "should fail [Serial] [Conformance]", "Conformance", "Serial"),
		s("apimachinery/webhook.go", "[sig-api-machinery] Webhooks", "should be called [Conformance]", "Conformance"),
		s("apimachinery/discovery.go", "[sig-api-machinery] Discovery", "should crash [Conformance]", "Conformance"),
		s("apimachinery/discovery.go", "[sig-api-machinery] Discovery", "should hang [Conformance]", "Conformance"),
		s("apimachinery/discovery.go", "[sig-api-machinery] Discovery", "should skip itself [Conformance]", "Conformance"),
		s("auth/subjectreviews.go", "[sig-auth] SubjectReview", "should do [Conformance]", "Conformance"),
		s("cloud/nodes.go", "[sig-cloud-provider] Nodes", "should be deleted [Disruptive]", "Disruptive"),
		s("apps/job.go", "[sig-apps] Job", "should be slow"),
	}
}

func fakeMain(dir string, args []string) {
	flags := map[string]string{}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		flags[name] = value
	}
	if driver := flags["--storage.testdriver"]; driver != "" {
		f, err := os.OpenFile(filepath.Join(dir, "drivers"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintln(f, driver)
			err = f.Close()
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
	}
	_, dry := flags["--ginkgo.dry-run"]
	if dry { // as e2e.test does
		if _, err := os.MkdirTemp("", "test-kuberc"); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
	}
	focus := regexp.MustCompile(flags["--ginkgo.focus"])
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	var reasons []string
	all := []spec{{LeafNodeType: "SynchronizedBeforeSuite", State: "passed"}}
	for _, s := range fakeSpecs() {
		switch name := s.name(); {
		case dry:
		case len(reasons) > 0:
			s.State = "skipped"
		case !focus.MatchString("Kubernetes e2e suite " + s.ContainerHierarchyTexts[0] + " " + s.LeafNodeText): // Ginkgo leaves empty texts out
			s.State = "skipped"
		default:
			fmt.Printf("------------------------------\n%s\n/go/file.go:1\n", name)
			switch {
			case strings.Contains(name, "should fail"), strings.Contains(name, "flaky") && once(dir, "flaky"):
				s.State, s.Failure.Message = "failed", "expected\n  true\nto be false"
				s.Failure.Location.FileName, s.Failure.Location.LineNumber = "/go/x/namespace.go", 12
			case strings.Contains(name, "should be deleted"):
				if err := askDestroy(flags["--provider"], "worker-1"); err != nil {
					s.State, s.Failure.Message = "failed", err.Error()
				}
			case strings.Contains(name, "crash"):
				fmt.Println("panic: out of order")
				os.Exit(2)
			case strings.Contains(name, "skip itself"):
				s.State, s.Failure.Message = "skipped", "only for large clusters"
			case strings.Contains(name, "should hang"):
				<-interrupted
				s.State, reasons = "interrupted", []string{"Interrupted by User"}
			}
		}
		all = append(all, s)
	}
	text, err := json.Marshal([]suiteReport{{SpecReports: all, SpecialSuiteFailureReasons: reasons}})
	if err == nil {
		err = os.WriteFile(flags["--ginkgo.json-report"], text, 0o600)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	os.Exit(0)
}

// askDestroy is what the provider in e2e.test does.
func askDestroy(provider, node string) error {
	if provider != "vsphere-sandbox" {
		return fmt.Errorf("the provider is %s", provider)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", os.Getenv("E2E_PROVIDER_SOCKET"))
	}}}
	answer, err := client.Post("http://sandbox/destroy", "text/plain", strings.NewReader(node))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNoContent {
		return nil
	}
	text, err := io.ReadAll(answer.Body)
	return errors.Join(errors.New(strings.TrimSpace(string(text))), err)
}

// once returns true the first time.
func once(dir, name string) bool {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
