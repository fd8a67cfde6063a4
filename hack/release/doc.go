// Command release builds the parts of a release beside its programs, and a snapshot of one platform.
//
//	go -C hack/release run . single -root ../..          # what .goreleaser.yaml says, for this platform alone
//	go -C hack/release run . sbom -in DIR -binary FILE …  # the bill of materials of one program, CycloneDX
//	go -C hack/release run . charts -root ../.. …         # the Helm charts, packaged
//	go -C hack/release run . formula -dist DIR …          # the Homebrew formula, of the checksums
//
// GoReleaser builds releases from .goreleaser.yaml (docs/releasing.md). It is four hundred modules, and cannot archive a
// single platform. So that every change can be tested, single reads the same file and does the same for one platform:
// hooks, the program, the archive, the SBOM, checksums. It supports the keys that the file uses, and rejects all others,
// so that it cannot silently differ from GoReleaser.
//
// It is a separate module: nothing of it is linked into a release.
package main
