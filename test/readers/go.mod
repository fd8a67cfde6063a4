module github.com/vsphere-sandbox/vsphere-sandbox/test/readers

go 1.26.0

require (
	github.com/go-logr/logr v1.4.3
	github.com/google/go-cmp v0.7.0
	github.com/vsphere-sandbox/vsphere-sandbox v0.0.0-00010101000000-000000000000
	k8s.io/cloud-provider-vsphere v1.36.0
	k8s.io/klog/v2 v2.140.0
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	gopkg.in/gcfg.v1 v1.2.3 // indirect
	gopkg.in/warnings.v0 v0.1.2 // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
)

replace github.com/vsphere-sandbox/vsphere-sandbox => ../..
