// SPDX-License-Identifier: Apache-2.0

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * GrpcClient ADDRESS METHOD FILE CALLS none|gzip [CA]: Java's gRPC calls a server with the bytes of
 * FILE, so often, all calls at once, and prints how often each code was the answer.
 */
class GrpcClient {
    static final MethodDescriptor.Marshaller<byte[]> BYTES = new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    };

    static ManagedChannel connect(String[] args) throws Exception {
        var builder = NettyChannelBuilder.forTarget(args[0]);
        if (args.length < 6)
            return builder.usePlaintext().build();
        var trust = GrpcSslContexts.forClient().trustManager(new File(args[5])).build();
        return builder.sslContext(trust).build();
    }

    static String codeOf(Future<byte[]> answer) throws InterruptedException {
        try {
            answer.get();
            return "OK";
        } catch (ExecutionException e) {
            return ((StatusRuntimeException) e.getCause()).getStatus().getCode().name();
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] request = Files.readAllBytes(Path.of(args[2]));
        var method = MethodDescriptor.newBuilder(BYTES, BYTES)
                .setType(MethodDescriptor.MethodType.UNARY)
                .setFullMethodName(args[1].substring(1))
                .build();
        CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(120, TimeUnit.SECONDS);
        if (args[4].equals("gzip"))
            options = options.withCompression("gzip");
        ManagedChannel channel = connect(args);
        List<Future<byte[]>> underWay = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(args[3]); i++)
            underWay.add(ClientCalls.futureUnaryCall(channel.newCall(method, options), request));
        var codes = new TreeMap<String, Integer>();
        for (Future<byte[]> answer : underWay)
            codes.merge(codeOf(answer), 1, Integer::sum);
        channel.shutdownNow();
        var text = new ArrayList<String>();
        codes.forEach((code, count) -> text.add(code + " " + count));
        System.out.println(String.join(" ", text));
    }
}
