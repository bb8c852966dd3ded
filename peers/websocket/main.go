// A WebSocket server for tests, cleartext and TLS, which ends when its standard input does.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Small buffers divide messages into many frames.
var upgrader = websocket.Upgrader{
	EnableCompression: true,
	Subprotocols:      []string{"chat", "other"},
	WriteBufferSize:   64,
	CheckOrigin:       func(*http.Request) bool { return true },
}

// Sessions that this function serves.
func sessions(serve func(*websocket.Conn, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		header := http.Header{"X-Server": {"one", "two"}}
		if value := r.URL.Query().Get("cookie"); value != "" {
			header.Set("Set-Cookie", value)
		}
		connection, err := upgrader.Upgrade(w, r, header)
		if err != nil {
			return
		}
		defer connection.Close()
		serve(connection, r)
	}
}

// Returns every message.
func echo(c *websocket.Conn, _ *http.Request) {
	for {
		kind, message, err := c.ReadMessage()
		if err != nil {
			return
		}
		if c.WriteMessage(kind, message) != nil {
			return
		}
	}
}

// Closes with the code and the reason of the query after the first message.
func end(c *websocket.Conn, r *http.Request) {
	c.ReadMessage()
	code, _ := strconv.Atoi(r.URL.Query().Get("code"))
	message := websocket.FormatCloseMessage(code, r.URL.Query().Get("reason"))
	c.WriteControl(websocket.CloseMessage, message, time.Now().Add(time.Second))
	c.ReadMessage()
}

// Sends the headers of the handshake, and closes.
func headers(c *websocket.Conn, r *http.Request) {
	names := []string{"Cookie", "User-Agent", "X-Own", "Sec-Websocket-Protocol", "Sec-Websocket-Extensions", "Upgrade", "Connection"}
	seen := map[string]string{"host": r.Host, "path": r.URL.RequestURI()}
	for _, name := range names {
		if values := r.Header.Values(name); len(values) > 0 {
			seen[strings.ToLower(name)] = strings.Join(values, "|")
		}
	}
	text, _ := json.Marshal(seen)
	c.WriteMessage(websocket.TextMessage, text)
	end(c, r)
}

// Pings, and sends the content of the pong.
func pings(c *websocket.Conn, r *http.Request) {
	c.SetPongHandler(func(content string) error {
		return c.WriteMessage(websocket.TextMessage, []byte("ponged "+content))
	})
	c.WriteControl(websocket.PingMessage, []byte("content"), time.Now().Add(time.Second))
	echo(c, r)
}

// Ends the connection without a close frame after the first message.
func drops(c *websocket.Conn, _ *http.Request) {
	c.ReadMessage()
}

// How sessions ended, by the name in their query.
var ends = struct {
	sync.Mutex
	byName map[string]chan string
}{byName: map[string]chan string{}}

func endOf(r *http.Request) chan string {
	ends.Lock()
	defer ends.Unlock()
	name := r.URL.Query().Get("name")
	if ends.byName[name] == nil {
		ends.byName[name] = make(chan string, 100)
	}
	return ends.byName[name]
}

// Reads until the session ends, and keeps how.
func watched(c *websocket.Conn, r *http.Request) {
	for {
		if _, _, err := c.ReadMessage(); err != nil {
			endOf(r) <- err.Error()
			return
		}
	}
}

func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", sessions(echo))
	mux.HandleFunc("/close", sessions(end))
	mux.HandleFunc("/headers", sessions(headers))
	mux.HandleFunc("/pings", sessions(pings))
	mux.HandleFunc("/drop", sessions(drops))
	mux.HandleFunc("/watched", sessions(watched))
	mux.HandleFunc("/end", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, <-endOf(r)) })
	mux.HandleFunc("/refused", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Why", "no")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, strings.Repeat("not here ", 200))
	})
	mux.HandleFunc("/other-key", func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		io.WriteString(connection, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Accept: bm90IHRoZSBrZXk=\r\n\r\n")
		connection.Close()
	})
	mux.HandleFunc("/silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })

	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	secure, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate()}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %s\n", plain.Addr(), secure.Addr())
	go http.Serve(plain, mux)
	go http.Serve(secure, mux)
	io.Copy(io.Discard, os.Stdin)
}
