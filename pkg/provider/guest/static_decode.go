package guest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// The encodings of cloud-init's VMware data source; whatever else an encoding says, it takes the text as it stands.
const (
	encodingBase64     = "base64"
	encodingB64        = "b64"
	encodingGzipBase64 = "gzip+base64"
	encodingGzB64      = "gz+b64"
)

// maxText is how long, in bytes, metadata may be at any stage of decoding. Real ones have a few thousand; a kilobyte of
// gzip may become a megabyte.
const maxText = 256 << 10

// encoded tells whether encoding says that text is not as it stands.
func encoded(encoding string) bool {
	switch encoding {
	case encodingBase64, encodingB64, encodingGzipBase64, encodingGzB64:
		return true
	}
	return false
}

// decode undoes encoding.
func decode(text, encoding string) ([]byte, error) {
	// Base64 has four characters for three bytes, and line ends.
	if len(text) > 2*maxText {
		return nil, fmt.Errorf("longer than %d bytes", 2*maxText)
	}
	data := []byte(text)
	if encoded(encoding) {
		// As cloud-init, which skips what is not of the alphabet: spaces around it come with some tools.
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("encoding %q: %w", encoding, err)
		}
		data = b
	}
	if encoding == encodingGzipBase64 || encoding == encodingGzB64 {
		b, err := unzip(data)
		if err != nil {
			return nil, fmt.Errorf("encoding %q: %w", encoding, err)
		}
		data = b
	}
	if len(data) > maxText {
		return nil, fmt.Errorf("decoded, longer than %d bytes", maxText)
	}
	return data, nil
}

// unzip returns what data is compressed of, or a little more than maxText of it.
func unzip(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxText+1))
}
