module github.com/vsphere-sandbox/vsphere-sandbox/hack/release

go 1.26.0

require (
	github.com/CycloneDX/cyclonedx-go v0.12.0
	github.com/google/go-cmp v0.7.0
	go.yaml.in/yaml/v3 v3.0.5
)
